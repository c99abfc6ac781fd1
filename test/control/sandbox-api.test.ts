// The API over sandboxes, which are processes of this machine, over a supervisor with engines that are processes.
import '#test/setup/over-processes.ts';
import '#test/contract/sandbox-api-production.test.ts';
