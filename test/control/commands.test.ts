// The commands of a user, over a supervisor with engines that are processes.
import '#test/setup/over-processes.ts';
import '#test/integration/control/commands.test.ts';
