// WebSockets to this machine and its network.
import { attacker, type Attack } from '#test/setup/hostile.ts';

export default {
  kind: 'egress',
  worker: attacker(
    `const answers = new Set(); for (const to of ['ws://127.0.0.1:1/', 'ws://2130706433/', 'ws://[::1]/', 'ws://169.254.169.254/', 'ws://localhost/']) answers.add(await new Promise((resolve) => { const socket = new WebSocket(to); socket.onopen = () => resolve('open'); socket.onerror = () => resolve('refused'); socket.onclose = () => resolve('refused'); })); return new Response([...answers].join());`,
  ),
  attack: ({ get }) => get(),
  expect: '200 refused',
} satisfies Attack;
