//! The `OpenAPI` document, made from the routes: what they share, and the core's schema of a limiter, are added here.

use paddlegate::formats::native::Limits;
use serde_json::{Map, Value, json};
use utoipa::openapi::{InfoBuilder, OpenApi, OpenApiBuilder};

/// The statuses that every route may answer with, besides its own.
const PROBLEMS: [(&str, &str); 10] = [
    ("400", "The request is wrong; the problem names the member."),
    ("401", "A token is needed."),
    ("403", "The token does not have the scope for this name, or the request comes from another site."),
    ("404", "There is no such limiter."),
    ("408", "The body was too slow."),
    ("412", "The limiter was changed since."),
    ("413", "The body is too large."),
    ("415", "The body is not JSON."),
    ("500", "A stored value is damaged, or a defect."),
    ("503", "The store cannot decide now; the problem says whether the call may have been charged."),
];

/// Returns the document to which the routes add theirs.
pub(crate) fn base() -> OpenApi {
    let info = InfoBuilder::new()
        .title("Paddlegate")
        .version(paddlegate::VERSION)
        .description(Some("Rate limits over HTTP. Times are seconds; a refusal is a value."))
        .build();
    OpenApiBuilder::new().info(info).build()
}

/// Returns the whole document as JSON.
pub(crate) fn document(routes: &OpenApi) -> Value {
    let mut document = serde_json::to_value(routes).unwrap_or_default();
    without_formats(&mut document);
    add_problems(&mut document);
    add_schemas(&mut document);
    document["components"]["securitySchemes"] = json!({ "token": { "type": "http", "scheme": "bearer" } });
    document["security"] = json!([{}, { "token": [] }]);
    document
}

fn add_problems(document: &mut Value) {
    document["components"]["responses"] = PROBLEMS
        .iter()
        .map(|(status, description)| {
            let schema = json!({ "$ref": "#/components/schemas/Problem" });
            let response =
                json!({ "description": description, "content": { "application/problem+json": { "schema": schema } } });
            (format!("Problem{status}"), response)
        })
        .collect();
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for operation in paths.filter_map(|(_, path)| path.as_object_mut()).flatten().map(|(_, operation)| operation) {
        if let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) {
            for (status, _) in PROBLEMS {
                let response = json!({ "$ref": format!("#/components/responses/Problem{status}") });
                responses.entry(status).or_insert(response);
            }
        }
        // A body may be left out where every member has a default; utoipa knows no default of a body.
        if let Some(body) = operation.get_mut("requestBody").and_then(Value::as_object_mut) {
            body.insert("required".to_owned(), json!(true));
        }
    }
}

/// Removes the formats of whole numbers, which would make them smaller than they may be.
fn without_formats(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.retain(|name, value| name != "format" || !matches!(value.as_str(), Some("int32" | "int64")));
            members.values_mut().for_each(without_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(without_formats),
        _ => {}
    }
}

/// Adds the schemas of the core's limits file and of a problem.
fn add_schemas(document: &mut Value) {
    let text = Limits::json_schema().unwrap_or_default();
    let file: Value = serde_json::from_str(&text).unwrap_or_default();
    let defined: Map<String, Value> = file["$defs"].as_object().cloned().unwrap_or_default();
    for (name, mut schema) in defined {
        moved(&mut schema);
        document["components"]["schemas"][name] = schema;
    }
    document["components"]["schemas"]["Problem"] = json!({
        "type": "object",
        "description": "Problem details of RFC 9457.",
        "required": ["code", "title", "status", "detail"],
        "properties": {
            "code": { "type": "string", "description": "The name of the problem, which never changes." },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string", "description": "What is wrong, and what to do." },
            "argument": { "type": "string", "description": "The member of the request that is wrong." },
            "may_have_counted": {
                "type": "boolean",
                "description": "Whether the call may have been charged nevertheless."
            }
        }
    });
}

/// Makes the references of a JSON Schema those of an `OpenAPI` document.
fn moved(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(reference) if name == "$ref" => {
                        *reference = reference.replace("#/$defs/", "#/components/schemas/");
                    }
                    other => moved(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(moved),
        _ => {}
    }
}
