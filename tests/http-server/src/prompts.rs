//! Prompts that the suite lists and gets.

use rmcp::ErrorData;
use rmcp::model::{
    ContentBlock, GetPromptRequestParams, GetPromptResponse, GetPromptResult, ImageContent,
    InputRequests, InputRequiredResult, Prompt, PromptArgument, PromptMessage, Role,
};
use serde_json::{Value, json};

use crate::asking::{answer, form};
use crate::content::PNG;

pub(crate) fn all() -> Vec<Prompt> {
    let argument =
        |name: &str| PromptArgument::new(name).with_description("An argument").with_required(true);
    vec![
        Prompt::new("test_simple_prompt", Some("A text"), None),
        Prompt::new(
            "test_prompt_with_arguments",
            Some("A text with arguments"),
            Some(vec![argument("arg1"), argument("arg2")]),
        ),
        Prompt::new("test_prompt_with_embedded_resource", Some("A resource"), None),
        Prompt::new("test_prompt_with_image", Some("A picture"), None),
        Prompt::new("test_input_required_result_prompt", Some("Asks first"), None),
    ]
}

pub(crate) fn get(request: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    let text = |text: String| PromptMessage::new_text(Role::User, text);
    let argument = |name: &str| -> String {
        let arguments = request.arguments.as_ref();
        arguments.and_then(|all| all.get(name)?.as_str().map(str::to_owned)).unwrap_or_default()
    };
    let messages = match request.name.as_str() {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.".to_owned())],
        "test_prompt_with_arguments" => {
            let (one, two) = (argument("arg1"), argument("arg2"));
            vec![text(format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))]
        }
        "test_prompt_with_embedded_resource" => {
            let uri = match argument("resourceUri") {
                uri if uri.is_empty() => "test://static-text".to_owned(),
                uri => uri,
            };
            let (mime, content) = (Some("text/plain".to_owned()), Some("A text.".to_owned()));
            vec![
                PromptMessage::new_resource(Role::User, uri, mime, content, None, None, None),
                text("Please process the embedded resource above.".to_owned()),
            ]
        }
        "test_prompt_with_image" => vec![
            PromptMessage::new(
                Role::User,
                ContentBlock::Image(ImageContent::new(PNG, "image/png")),
            ),
            text("Please analyze the image above.".to_owned()),
        ],
        "test_input_required_result_prompt" => {
            let Some(given) = answer(request.input_responses.as_ref(), "user_context") else {
                let mut asked = InputRequests::new();
                asked.insert("user_context".to_owned(), form("In what context?", "context"));
                return Ok(InputRequiredResult::from_input_requests(asked).into());
            };
            let context = given.get("content").and_then(|content| content["context"].as_str());
            vec![text(format!("Context: {}", context.unwrap_or_default()))]
        }
        name => {
            let message = format!("no prompt `{name}`");
            return Err(ErrorData::invalid_params(
                message,
                Some(json!({"name": Value::from(name)})),
            ));
        }
    };
    Ok(GetPromptResult::new(messages).into())
}
