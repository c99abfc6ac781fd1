// A preview beside production on a whole platform, with a large database.
import '#test/setup/over-processes.ts';
import '#test/integration/preview-isolation.test.ts';
