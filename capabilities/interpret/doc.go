// Package interpret turns the words of a request into exactly one plan, a question, or a
// refusal with a reason. It is pure: an interpreter depends only on its data and on the
// arguments of a call.
//
// The entry points are Interpreter.Resolve for a request and Interpreter.Answer for the answer to a
// question. File passes.go lists the ways to read a text, in the order in which parse tries them.
package interpret
