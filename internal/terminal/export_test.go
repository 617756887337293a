package terminal

// Understood reads what a terminal answers.
var Understood = understood

// Named tells from the environment what a terminal shows.
var Named = named
