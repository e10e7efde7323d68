// Package responses is one provider's wire, both ways: OpenAI's Responses API
// (https://developers.openai.com/api/reference/resources/responses), in which its reasoning models keep
// what they thought between their calls. Nothing is stored at the provider (store: false): reasoning comes
// encrypted and goes back with the conversation, to the model that made it and to no other.
//
// # What becomes of a message
//
//   - An answer is a list of items. Each one is taken whole, as the provider closed it; what came before in
//     pieces is what was shown. Items of types that this build does not know are kept and go back.
//   - Items go back without the id under which the provider would have stored them; reasoning keeps its
//     own, because the reference asks for it. Reasoning that is not encrypted, and reasoning that nothing
//     follows, is left out: the provider refuses both.
//   - A result may hold images: its output is then a list of texts and images.
//   - Arguments go back as the model wrote them, in a string.
//   - A schema is sent with strict: false, else the provider would rewrite it.
package responses
