// Letters: anything that wants one written puts it into the queue. An example has no mail server, so a letter is a line
// of the log and an entry of the state for a month, which its recipient can look at.
import { auth, platform } from '@platform-run/worker';
import type { PlatformUser } from '@platform-run/types';
import { z } from 'zod';

export const Letter = z.object({ to: z.email(), subject: z.string(), text: z.string() });

export const mail = platform<PlatformEnv>().queue('MAIL', { payload: Letter }, async ({ env, payload, message }) => {
  // A message may be delivered twice: the same key makes that one letter.
  const key = `mail:${payload.to}:${message.timestamp}:${message.id}`;
  await env.KV.setJSON(key, { subject: payload.subject, text: payload.text }, { expirationTtl: 30 * 24 * 60 * 60 });
  console.log(`Mail to ${payload.to}: ${payload.subject}`);
});

const Mailbox = z.object({ mails: z.array(Letter.omit({ to: true })) });

export const mailbox = platform<PlatformEnv>()
  .use(auth<PlatformUser>())
  .get('/', { response: Mailbox }, async ({ env, state }) => {
    const { keys } = await env.KV.list({ prefix: `mail:${state.user.email}:`, limit: 100 });
    if (keys.length === 0) return { mails: [] };
    const found = await env.KV.get<z.output<typeof Mailbox>['mails'][number]>(
      keys.map(({ name }) => name),
      'json',
    );
    return { mails: [...found.values()].filter((one) => one !== null) };
  });
