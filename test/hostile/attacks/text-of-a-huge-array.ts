// One line of plain JavaScript that nothing ends: an array with one element at the far end of what an array may have,
// as text. Its isolate is given up, and its thread burns on: until the engine is replaced, behind all others and on the
// deployment's account, and its neighbours do not notice.
import { until } from '#test/setup/until.ts';
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'cpu',
  worker: attacker(`const a = []; a[2 ** 32 - 2] = 1; return new Response(String(a));`),
  // On a busy machine it takes minutes to use that CPU.
  environment: { WORKER_WALL_LIMIT_MS: '300000', LOST_THREADS_CPU_MS: '3000' },
  async attack({ get, platform }) {
    const before = platform.enginePid;
    const replaced = platform.logged(({ msg }) => msg === 'Engine replaced');
    const answer = await get('/attack', { waitMs: 300_000 });
    const { blamed, burntMs } = (await replaced) as { blamed?: string; burntMs?: number };
    // Its process is gone, and what burned in it.
    await until(async () => !(await platform.state()).engines.some(({ pid }) => pid === before));
    const [quarantined] = (await platform.state()).quarantine;
    const hasBurnt = burntMs !== undefined && burntMs >= 3000;
    return `${answer}, ${blamed?.split('/')[0]} blamed: ${hasBurnt}, ${quarantined?.strikes} strikes`;
  },
  expect: '503 isolate_replaced, attacker blamed: true, 2 strikes',
  ends: true,
} satisfies Attack;
