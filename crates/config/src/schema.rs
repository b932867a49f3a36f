//! A JSON schema of configuration files, for editors: made of the table of keys.

use serde_json::{Map, Value, json};

use crate::keys::{KeyKind, Section};

/// The schema of a configuration file.
pub fn schema() -> Value {
    let mut properties = section(Section::Top);
    let named = |of: Section, what: &str, required: &[&str]| {
        let mut table = json!({
            "type": "object",
            "properties": section(of),
            "additionalProperties": false,
        });
        if !required.is_empty() {
            table["required"] = json!(required);
        }
        json!({
            "type": "object",
            "description": what,
            "propertyNames": {"pattern": "^[a-z0-9][a-z0-9._-]{0,63}$"},
            "additionalProperties": table,
        })
    };
    properties
        .insert("sessions".to_owned(), named(Section::Session, "Sessions by their names", &[]));
    let toolchains = named(
        Section::Toolchain,
        "Toolchains by their names; one that has the name of a built-in one replaces it",
        &[],
    );
    properties.insert("toolchains".to_owned(), toolchains);
    let what = "Jupyter servers and gateways by their names (only in your own file)";
    properties.insert("gateways".to_owned(), named(Section::Gateway, what, &["url"]));
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "stead: config.toml",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

fn section(section: Section) -> Map<String, Value> {
    section
        .keys()
        .map(|spec| {
            let mut of = kind(spec.kind);
            let whose = if spec.users_only { " (only in your own file)" } else { "" };
            of["description"] = format!("{}{whose}", spec.what).into();
            (spec.name.to_owned(), of)
        })
        .collect()
}

fn kind(kind: KeyKind) -> Value {
    let text = || json!({"type": "string"});
    match kind {
        KeyKind::Name | KeyKind::Path | KeyKind::Address | KeyKind::Text => {
            json!({"type": "string", "minLength": 1})
        }
        KeyKind::Code => text(),
        KeyKind::Flag => json!({"type": "boolean"}),
        KeyKind::Time => json!({"anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string", "pattern": "^[0-9][0-9.]*\\s*(ms|s|m|h)?$"},
        ]}),
        KeyKind::Size => json!({"anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string", "pattern": "^[0-9][0-9.]*\\s*([kKmMgGtT]([iI]?[bB])?|[bB])?$"},
        ]}),
        KeyKind::Command => json!({"anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
        ]}),
        KeyKind::Variables => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        KeyKind::Word(words) => json!({"type": "string", "enum": words}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{KEYS, LOG_WORDS};

    #[test]
    fn cf1_the_schema_has_every_key_where_it_may_stand() {
        let schema = schema();
        for spec in KEYS {
            for section in spec.sections {
                let at = match section {
                    Section::Top => schema["properties"].clone(),
                    Section::Session => {
                        schema["properties"]["sessions"]["additionalProperties"]["properties"]
                            .clone()
                    }
                    Section::Toolchain => {
                        schema["properties"]["toolchains"]["additionalProperties"]["properties"]
                            .clone()
                    }
                    Section::Gateway => {
                        schema["properties"]["gateways"]["additionalProperties"]["properties"]
                            .clone()
                    }
                };
                assert!(at[spec.name]["description"].is_string(), "{} {section:?}", spec.name);
            }
        }
        assert_eq!(schema["properties"]["log"]["enum"], json!(LOG_WORDS));
    }
}
