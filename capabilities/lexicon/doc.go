// Package lexicon knows the words of a language: it cuts a text into tokens, compiles word
// lists into phrase sets, and reads numbers, lengths of time and hours. It knows neither the
// sentences of the catalog nor the devices of a home.
package lexicon
