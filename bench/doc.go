// Package bench compares Weir with peers: the least code that does the same work, by the means that a
// program without Weir would use.
//
// Every figure is a ratio of medians. The two sides take turns in one process, so that what else the
// machine does meets both. README.md says what each benchmark measures, and what was reached.
package bench
