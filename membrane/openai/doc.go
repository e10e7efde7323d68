// Package openai is one provider's wire, both ways: OpenAI's Chat Completions
// (https://developers.openai.com/api/reference/resources/chat), which many other servers speak too, such
// as Ollama, vLLM and llama.cpp. Package openai/responses is the provider's newer protocol; its own
// reasoning models keep their reasoning between calls only there.
//
// What servers want differently is a table by address, see [QuirksOf], and never code for one of them.
//
// # What becomes of a message
//
//   - A result is a message of its own with the role tool and takes text only. Its images go behind all
//     results of the round in one message of the user, each behind a label that names the call; the result
//     says so. Where a server takes no images, and for an image that it would refuse, a labelled text
//     stands in its place.
//   - Arguments go back as the model wrote them, in a string. Most compatible servers read that string as
//     an object, so there arguments that are none become {"_unparsed": "…"}.
//   - Reasoning goes back only to the model that made it, and only where the server wants it.
//   - What an answer holds beside text, refusal, reasoning and calls is joined by its own form (strings,
//     lists and objects go on where they ended) and goes back where the server takes it; a delta that does
//     not go on as it began fails the request.
//   - A blank or empty answer without calls is no message: some servers refuse one.
//   - A schema has an object with properties at its root and no anyOf, oneOf, allOf, enum or not there. A
//     tool that cannot be offered is left out, see [Model.Notes].
package openai
