// One trace through engine, broker and supervisor, which are processes.
import '#test/setup/over-processes.ts';
import '#test/integration/traces.test.ts';
