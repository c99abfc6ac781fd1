// Selects the Node version for commands of a build sandbox: the installed version that the project requests. The
// sandbox's output is untrusted and limited. Called by build-in-sandbox.ts.
import { dirname } from 'node:path';
import { chooseNode, type NodeRequest } from '../../frameworks/node-version.ts';
import type { LineLevel } from '../types.ts';
import type { BuildMachine } from './machine.ts';

/** Prints the installed versions with their paths, then the default version. */
const LOOK = `
for node in /opt/node/*/bin/node "$(command -v node)"; do
  version=$("$node" -p process.versions.node 2>/dev/null) || continue
  echo "$version $node"
done`;
const NODES_MAX = 20;

/**
 * @returns the folders to prepend to PATH: none if the project requests no version, or if the default version matches.
 */
export async function findNode(
  asked: NodeRequest | null,
  machine: Pick<BuildMachine, 'script'>,
  say: (level: LineLevel, text: string) => void,
): Promise<string[]> {
  if (asked === null) return [];
  const { text, from } = asked;
  const nodes = (await machine.script(LOOK)).split('\n', NODES_MAX).flatMap((line) => {
    const [, version, program] = /^(\d{1,4}\.\d{1,4}\.\d{1,4}) (\/[\w./+-]{1,200})$/.exec(line) ?? [];
    return version === undefined ? [] : [{ version, program: program! }];
  });
  const usual = nodes.at(-1);
  if (usual === undefined) {
    say('warn', `${from} asks for Node ${text}, and the build sandbox has none`);
    return [];
  }
  const { node, isNear } = chooseNode(text, nodes);
  const used = node ?? usual;
  const isFit = node !== null && !isNear;
  const all = [...new Set(nodes.map(({ version }) => version))].join(' and ');
  if (isFit) say('info', `Node ${used.version} (${from} asks for ${text})`);
  else say('warn', `${from} asks for Node ${text}; the build sandbox has ${all}: ${used.version} is used`);
  return used.version === usual.version ? [] : [dirname(used.program)];
}
