// Every binding on the platform as it runs in production, with two engines.
import '#test/setup/over-processes.ts';
import '#test/integration/production-bindings.test.ts';
