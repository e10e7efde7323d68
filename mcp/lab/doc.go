// Package lab shows what hosts make of a tool's result: eight tools whose text and structured content agree,
// disagree, or miss each other, the policies of hosts that were seen or read, and a probe for any server.
//
// The tools of the [Matrix] send fixed bytes, broken ones included, so what a host shows of them is its own
// policy and nothing else. [Hosts] computes the same from the policies that are known, [Probe] asks any
// server, and a [Recorder] writes down what a real client sent.
package lab
