// Releases from an upload to what answers, over a supervisor with engines that are processes.
import '#test/setup/over-processes.ts';
import '#test/integration/control/releases.test.ts';
