// What commands do with the sandboxes of a deployment, which are processes of this machine.
import '#test/setup/over-processes.ts';
import '#test/integration/control/sandbox-commands.test.ts';
