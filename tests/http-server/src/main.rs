//! The MCP handler of `stead mcp` on streamable HTTP, for the conformance suite, which speaks nothing else.
//!
//! Prints its address and serves until its standard input ends, so that it cannot outlive its test.

#![allow(
    deprecated,
    reason = "the suite tests logging, sampling and roots as long as clients have them"
)]

mod asking;
mod content;
mod fixtures;
mod prompts;
mod resources;
mod tools;

use std::env;

use anyhow::Context;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use stead_client::{Client, Dirs, Workspace};
use stead_mcp::{Handler, Server};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;

use fixtures::Fixtures;

fn main() -> anyhow::Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(serve())
}

async fn serve() -> anyhow::Result<()> {
    let cwd = env::current_dir()?;
    let client = Client {
        dirs: Dirs::from_env()?,
        workspace: Workspace::find(None, &cwd)?,
        kind: "mcp",
        by: Default::default(),
        program: Some(env::var_os("STEAD_BIN").context("STEAD_BIN is not set")?.into()),
        kept: None,
    };
    let handler = Fixtures::new(Handler::detached(Server::new(client, cwd)));
    let config = StreamableHttpServerConfig::default()
        .with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*"]);
    let service = StreamableHttpService::new(
        move || Ok(handler.clone()),
        LocalSessionManager::default().into(),
        config,
    );
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let router = axum::Router::new().nest_service("/mcp", service);
    let mut rest = Vec::new();
    let mut stdin = tokio::io::stdin();
    tokio::select! {
        served = axum::serve(listener, router) => Ok(served?),
        ended = stdin.read_to_end(&mut rest) => ended.map(drop).map_err(Into::into),
    }
}
