// A getter named then.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(`return { get then() { for (;;); } };`);
