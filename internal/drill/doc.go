// Package drill is a test room: it kills, stops and crowds processes that share a store, and holds what is
// left to the promises.
//
// A call is completed when its event reached a pipe outside of the process. A body ran when it appended
// a line to a file outside of the store. After each kill the conversation is driven on by a new process,
// which may be another build of the program; nothing that was completed may be lost, no call that may not
// be repeated may run twice, and no byte that was sent may change.
package drill
