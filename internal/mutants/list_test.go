package mutants_test

import "slices"

// mutants are the planted faults. Their names describe the fault.
var mutants = slices.Concat(executorMutants, policyMutants, exchangeMutants, channelMutants, partMutants)
