// What a container engine changes in the network of this machine (bridges, packet filter, forwarding), put back as it
// was. Used by docker-engine.ts.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';

const runProgram = promisify(execFile);
const FORWARDING = '/proc/sys/net/ipv4/ip_forward';

/** As it was. */
interface MachineNetwork {
  /** @returns what is still there of the engine; none when all is as it was. */
  restore(): Promise<readonly string[]>;
}

export async function rememberNetwork(): Promise<MachineNetwork> {
  const [links, forwarding] = [interfaces(), readFileSync(FORWARDING, 'utf8')];
  const rules = await filterRules();
  // The rules of another engine change while this one runs: they are left alone then.
  const isShared = links.includes('docker0') || /DOCKER/.test(rules);
  return {
    async restore() {
      const added = (): string[] =>
        interfaces().filter((name) => !links.includes(name) && /^(?:docker|br-|veth)/.test(name));
      for (const name of added()) await runProgram('ip', ['link', 'delete', name]).catch(() => {});
      if (isShared) return added();
      const restoring = runProgram('iptables-restore', []);
      restoring.child.stdin!.end(rules);
      await restoring;
      writeFileSync(FORWARDING, forwarding);
      const chains = (await filterRules()).split('\n').filter((line) => line.includes('DOCKER'));
      return [...added(), ...chains];
    },
  };
}

function interfaces(): string[] {
  return readdirSync('/sys/class/net');
}

/** The tables that an engine writes. */
async function filterRules(): Promise<string> {
  const texts: string[] = [];
  for (const [table, chains] of [
    ['filter', 'INPUT FORWARD OUTPUT'],
    ['nat', 'PREROUTING INPUT OUTPUT POSTROUTING'],
  ] as const) {
    const { stdout } = await runProgram('iptables-save', ['--table', table]);
    // One that nobody has written to yet is not shown.
    const empty = chains.split(' ').map((chain) => `:${chain} ACCEPT [0:0]\n`);
    texts.push(stdout.includes('COMMIT') ? stdout : `*${table}\n${empty.join('')}COMMIT\n`);
  }
  return texts.join('');
}
