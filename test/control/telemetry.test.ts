// Lines and invocations of engines that are processes.
import '#test/setup/over-processes.ts';
import '#test/integration/telemetry.test.ts';
