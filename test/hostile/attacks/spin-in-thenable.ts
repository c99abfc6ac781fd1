// A thenable that never comes back.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(`return { then() { for (;;); } };`);
