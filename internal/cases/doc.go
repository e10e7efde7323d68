// Package cases is a test room: the field cases, by id.
//
// testdata/cases.jsonl holds what users of other systems reported: for each case an input and what should
// have come of it. A case runs on the product as a whole: an agent with a real store and spill folder on a
// scripted model, one process after the other where the case has a restart or a kill. What it asserts is
// what a provider received, what is stored, and what lies on the disk. A case whose room is not built yet
// is pending, with the room it waits for.
package cases
