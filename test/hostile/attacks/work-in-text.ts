// 32 MB of noise in an encoding whose tables are large.
import { spinner } from '#test/setup/hostile.ts';

export default {
  ...spinner(
    `const bytes = new Uint8Array(32 * 1024 * 1024); for (let at = 0; at < bytes.length; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536)); for (;;) new TextDecoder('gb18030').decode(bytes);`,
  ),
  environment: { WORKER_MEMORY_MB: '256', WORKER_CPU_LIMIT_MS_FREE: '300' },
};
