package terminal

// Understood reads the answer of a terminal.
var Understood = understood

// Named returns the graphics protocol that the environment names.
var Named = named
