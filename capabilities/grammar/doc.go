// Package grammar holds the sentences of capabilities: the syntax of their templates, their
// expansion into plain sentences, and the automaton that matches the words of a request. It
// knows neither where the sentences come from nor the devices of a home.
package grammar
