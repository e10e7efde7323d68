// Package wire sends one request to a provider and reads the stream that comes back: HTTP, server-sent
// events, retries and typed errors, the same for every dialect. What the bytes mean is the adapter's.
//
// A body is sent from where it stands and is the same to the byte at each try. A stream is bounded in
// the length of an event, in all and in time; one that ends before its last event is an error. Every
// error is a *[membrane.Error] of one line that names the model, what happened and what can be done, and
// that holds no key.
package wire
