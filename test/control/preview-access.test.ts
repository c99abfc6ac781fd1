// Who may see a preview, at the public port of two engines that are processes.
import '#test/setup/over-processes.ts';
import '#test/integration/preview-access.test.ts';
