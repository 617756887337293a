// Package reply finds the options of a question that an answer means.
package reply
