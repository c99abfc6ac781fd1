// What commands read and write of bindings, over a supervisor with engines that are processes.
import '#test/setup/over-processes.ts';
import '#test/integration/control/binding-commands.test.ts';
