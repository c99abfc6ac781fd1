// Renamed and deleted classes of durable objects, over a supervisor with two engines that are processes.
import '#test/setup/over-processes.ts';
import '#test/integration/control/object-classes.test.ts';
