//! Resources that the suite lists and reads.

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use crate::content::{PNG, text_of};

pub(crate) fn all() -> Vec<Resource> {
    vec![
        Resource::new("test://static-text", "text")
            .with_description("A text")
            .with_mime_type("text/plain"),
        Resource::new("test://static-binary", "binary")
            .with_description("A picture")
            .with_mime_type("image/png"),
    ]
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("test://template/{id}/data", "data")
            .with_description("Data of an id")
            .with_mime_type("application/json"),
    ]
}

pub(crate) fn read(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
    let contents = match (uri, id) {
        ("test://static-text", _) => {
            text_of(uri, "text/plain", "This is the content of the static text resource.")
        }
        ("test://static-binary", _) => ResourceContents::BlobResourceContents {
            uri: uri.to_owned(),
            mime_type: Some("image/png".to_owned()),
            blob: PNG.to_owned(),
            meta: None,
        },
        (_, Some(id)) => {
            let data =
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            text_of(uri, "application/json", &data.to_string())
        }
        _ => {
            let message = format!("no resource `{uri}`");
            return Err(ErrorData::resource_not_found(message, Some(json!({"uri": uri}))));
        }
    };
    Ok(ReadResourceResult::new(vec![contents]))
}
