// What the commands of `platform objects` show and change, over a supervisor with engines that are processes.
import '#test/setup/over-processes.ts';
import '#test/integration/control/object-commands.test.ts';
