// The API over bindings, over a supervisor with engines that are processes.
import '#test/setup/over-processes.ts';
import '#test/contract/resource-api-production.test.ts';
