// Package drill is a test room: it kills a running conversation at random moments and holds what is left
// to the promises.
//
// A call is completed when its event reached a pipe outside of the process. A body ran when it appended
// a line to a file outside of the store. After each kill the conversation is driven on by a new process;
// nothing that was completed may be lost, and no call that may not be repeated may run twice.
package drill
