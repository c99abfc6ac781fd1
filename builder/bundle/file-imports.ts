// Bundler plugin for imports of other files: `?raw` as text, `.wasm` as a compiled module, `.bin` as bytes. `.txt`,
// `.sql`, `.html`, JSON and `with { type }` need no plugin. Used by bundle.ts.
import { readFile } from 'node:fs/promises';
import { join, parse } from 'node:path';
import type { Plugin } from 'rolldown';
import { rootIndexMark, sourceFile } from '../project/build-error.ts';
import { ownPath } from './node-compat.ts';

/** @param root the project's folder, absolute */
export function fileImportsPlugin(root: string): Plugin {
  return {
    name: 'platform:file-imports',
    resolveId: {
      // Matches `?raw`, `.wasm?module`, and every way to write the path of an index file in a parent folder.
      filter: {
        id: [/\?(?:raw|module)$/, /^(?:\.{1,2}\/)*\.{0,2}(?:index(?:\.[cm]?[jt]sx?)?)?$/, /\/index\.[cm]?[jt]sx?$/],
      },
      async handler(source, importer, options) {
        const found = await this.resolve(sourceFile(source), importer, { ...options, skipSelf: true });
        if (found === null || found.external !== false) return found;
        if (source.endsWith('?raw')) return { ...found, id: `${found.id}?raw` };
        // rolldown names the default export of an index file after its folder. In the project's root, this would be the
        // name of the checkout's folder, on which the bundle must not depend.
        const { dir, name, ext } = parse(found.id);
        return dir === root && name === 'index' ? { ...found, id: join(root, `index${rootIndexMark}${ext}`) } : found;
      },
    },
    load: {
      filter: { id: /\?raw$|\/index~root\.\w+$|\.(?:wasm|bin)$/ },
      async handler(id) {
        const path = sourceFile(id);
        if (id.endsWith('?raw')) return { code: await readFile(path, 'utf8'), moduleType: 'text' };
        if (path !== id)
          return { code: await readFile(path, 'utf8'), moduleType: parse(path).ext.replace(/[.cm]/g, '') };
        return bytesModule(path, await readFile(path));
      },
    },
  };
}

/**
 * A .wasm file as a WebAssembly.Module (V8 compiles functions when they are first called), a .bin file as an
 * ArrayBuffer.
 */
function bytesModule(path: string, content: Buffer): { code: string; moduleType: 'js' } {
  const bytes = `fromBase64(${JSON.stringify(content.toString('base64'))})`;
  return {
    code: `import { fromBase64 } from ${JSON.stringify(ownPath('shims/base64'))};
export default ${path.endsWith('.wasm') ? `new WebAssembly.Module(${bytes})` : `${bytes}.buffer`};`,
    moduleType: 'js',
  };
}
