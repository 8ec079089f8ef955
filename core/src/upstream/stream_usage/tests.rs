//! Streams as the providers document them, and that the ends of chunks change nothing.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::super::{MAX_PAUSE, Provider, Response};
use super::*;
use crate::upstream::Feedback;

const CHAT: &str = "data: {\"id\":\"x\",\"choices\":[{\"delta\":{\"content\":\"{\\\"usage\\\": \u{1f600}\"}}],\"usage\":null}\n\n\
    data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":12,\"total_tokens\":21}}\n\ndata: [DONE]\n\n";
const RESPONSES: &str = "event: response.created\r\ndata: {\"type\":\"response.created\",\"response\":{\"usage\":null}}\r\n\r\n\
    event: response.completed\r\ndata: {\"type\":\"response.completed\",\"response\":{\"output\":[{\"usage\":{\"total_tokens\":1}}],\r\n\
    data:\"usage\":{\"input_tokens\":7,\"output_tokens\":5,\"total_tokens\":12}}}\r\n\r\n";
const ANTHROPIC: &str = "\u{feff}event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[],\
    \"usage\":{\"input_tokens\":25,\"cache_creation_input_tokens\":null,\"output_tokens\":1}}}\n\n: ping\n\n\
    data: {\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"output_tokens\":15}}\n\n";
const GEMINI: &str = "[{\"candidates\":[{\"usageMetadata\":{\"totalTokenCount\":1}}],\"usageMetadata\":{\"promptTokenCount\":8,\"totalTokenCount\":9}}\n,\r\n\
    {\"usageMetadata\": {\"promptTokenCount\": 8,\n \"totalTokenCount\": 28}}\n]\n";
const GROQ: &str = "data: {\"x_groq\":{\"id\":\"r\",\"usage\":{\"prompt_tokens\":40,\"completion_tokens\":2,\"total_tokens\":42,\
    \"prompt_tokens_details\":{\"cached_tokens\":30}}}}\n\n";
const GRAPHQL: &str = "{\"data\":{\"usage\":{\"total_tokens\":5}},\"extensions\":{\"cost\":{\"actualQueryCost\":12,\"throttleStatus\":\
    {\"maximumAvailable\":1000,\"currentlyAvailable\":988,\"restoreRate\":50}}}}";
const PARTS: &str = "--graphql\r\nContent-Type: application/json\r\n\r\n{\"data\":{\"rateLimit\":{\"cost\":3,\"remaining\":4997,\
    \"limit\":5000}}}\r\n--graphql--\r\n";
const STREAMS: [&str; 7] = [CHAT, RESPONSES, ANTHROPIC, GEMINI, GROQ, GRAPHQL, PARTS];

fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> StreamUsage {
    let mut usage = StreamUsage::default();
    for chunk in chunks {
        usage.feed(chunk);
    }
    usage
}

fn actual(stream: &str) -> [Option<u64>; 3] {
    let usage = read([stream.as_bytes()]);
    assert_eq!(usage.ignored(), [""; 0], "{stream}");
    let response = Response { status: Some(200), headers: &[], body: &usage.body() };
    let feedback = Feedback::read(Provider::Auto, &response, MAX_PAUSE);
    [feedback.actual, feedback.actual_input, feedback.actual_output]
}

#[test]
fn each_provider_tells_its_usage() {
    assert_eq!(actual(CHAT), [Some(21), Some(9), Some(12)]);
    assert_eq!(actual(RESPONSES), [Some(12), Some(7), Some(5)]);
    assert_eq!(actual(ANTHROPIC), [Some(40), Some(25), Some(15)]);
    assert_eq!(actual(GEMINI), [Some(28), Some(8), Some(20)]);
    assert_eq!(actual(GROQ), [Some(12), Some(10), Some(2)], "what is cached does not count");
    assert_eq!(actual(GRAPHQL), [Some(12), None, None]);
    assert_eq!(actual(PARTS), [Some(3), None, None]);
}

#[test]
fn what_is_ignored_is_told() {
    let ignored = |stream: &str| {
        let usage = read([stream.as_bytes()]);
        assert_eq!(usage.body(), "", "{stream:.60}");
        usage.ignored().join("; ")
    };
    let none = "usage: the stream has none, ask for it, in openai's chat by stream_options.include_usage";
    assert_eq!(ignored("data: {\"choices\":[{\"usage\":{\"total_tokens\":1}}]}\n\ndata: [DONE]\n\n"), none);
    let start = ANTHROPIC.split(": ping").next().unwrap();
    assert_eq!(ignored(start), "usage: the stream ended before its output was counted");
    let long = format!("{{\"usage\":{{\"total_tokens\":1,\"x\":\"{}\"}}}}", "y".repeat(MAX_KEPT));
    assert_eq!(ignored(&long), "usage: is above 4096 bytes");
    assert_eq!(ignored("{\"usage\":{\"total_tokens\":1,}}"), "usage: is no json");
    assert_eq!(ignored("{\"usage\":{\"total_tok"), "body: ended inside of its json");
    let cut = "data: {\"usage\":{\"total_tok\n\ndata: {}\n\n";
    assert_eq!(ignored(cut), format!("event: ended inside of its json; {none}"));
    for stream in [
        "",
        "<html>usage</html>",
        "{}",
        "data",
        "id: 5\n\n",
        "{\"a\": \"\\\"usage\\\":{}\"}",
        "[[{\"usage\":{\"total_tokens\":5}}]]",
    ] {
        assert_eq!(ignored(stream), "", "{stream}");
    }
}

#[test]
fn the_last_count_of_each_name_is_that_of_the_stream() {
    let stream =
        "data: {\"usage\":{\"total_tokens\":5,\"prompt_tokens\":4}}\n\ndata: {\"usage\":{\"total_tokens\":9}}\n\n";
    assert_eq!(read([stream.as_bytes()]).body(), r#"{"usage":{"total_tokens":9,"prompt_tokens":4}}"#);
    let text = "data: 5\" wide\n\ndata: \"{\"\n\ndata: {\"usage\":{\"total_tokens\":9}}\n\n";
    assert_eq!(read([text.as_bytes()]).body(), r#"{"usage":{"total_tokens":9}}"#, "after events that are no json");
    let error = "data: {\"error\":{\"type\":\"overloaded_error\"}}\n\n";
    assert_eq!(read([error.as_bytes()]).body(), r#"{"error":{"type":"overloaded_error"}}"#);
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_ends_of_chunks_change_nothing(
        stream in 0..STREAMS.len(),
        lengths in prop::collection::vec(0_usize..40, 1..20),
        noise in prop::collection::vec(any::<u8>(), 0..3),
        at in any::<prop::sample::Index>(),
    ) {
        // Some streams are broken by a few bytes.
        let mut stream = STREAMS[stream].as_bytes().to_vec();
        let at = at.index(stream.len());
        stream.splice(at..at, noise);
        let (mut cut, mut rest) = (StreamUsage::default(), &stream[..]);
        for length in lengths {
            let (chunk, more) = rest.split_at(length.min(rest.len()));
            cut.feed(chunk);
            rest = more;
        }
        for byte in rest.chunks(1) {
            cut.feed(byte);
        }
        let whole = read([&stream[..]]);
        prop_assert_eq!((whole.body(), whole.ignored()), (cut.body(), cut.ignored()));
        prop_assert!(whole.body().len() <= MAX_STREAM_USAGE);
    }
}
