// Package timeexpr reads expressions of time in a text: days, times of day, sunrise and
// sunset, repetitions, and lengths of time. It does not decide whether a request may have one.
package timeexpr
