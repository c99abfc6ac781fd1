// A getter that the console reads.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(
  `console.log({ get x() { for (;;); }, [Symbol.for('nodejs.util.inspect.custom')]() { for (;;); }, toString() { for (;;); } }); console.log('%s', { toString() { for (;;); } }); for (;;);`,
);
