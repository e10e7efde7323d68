// Package economy measures what a model learns from a result for the tokens it is sent: a test room.
//
// Results of the kinds that tools really give are made from what every machine with Go has, the same on
// each run. Each holds facts at known places: what must be found, and a word that whoever asks knows. The
// results are shown in the ways that other programs have and in Weir's, at three budgets, and what was
// shown is searched for the facts; where a notice names a file, one call more is made for each that is
// missing.
//
// A small corpus is a test; make bench-tokens runs the whole and writes docs/token-economy.md.
package economy
