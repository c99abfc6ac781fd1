// A supervisor with two engines keeps to what the private port answers.
import '#test/setup/over-processes.ts';
import '#test/contract/private-port-here.test.ts';
