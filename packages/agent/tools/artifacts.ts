// The built-in tool for files: stored under the user's id, and sent to the chat.
import { builtIn, toolError, type ReadyTool } from './tool.ts';

/** `artifact_create`. */
export const artifactTools: readonly ReadyTool[] = [
  builtIn({
    name: 'artifact_create',
    description: 'Creates a file and sends it to the user.',
    parameters: {
      type: 'object',
      properties: {
        filename: { type: 'string', minLength: 1, maxLength: 255 },
        content: { type: 'string' },
        encoding: { enum: ['utf8', 'base64'] },
      },
      required: ['filename', 'content'],
    },
    async execute({ filename, content, encoding = 'utf8' }, ctx) {
      // oxlint-disable-next-line no-control-regex -- names with control characters are refused
      if (/[/\\\u0000-\u001f]/.test(filename) || filename === '.' || filename === '..')
        throw toolError('filename must be a plain name, without folders');
      const bytes = encoding === 'base64' ? fromBase64(content) : content;
      await ctx.env.PLATFORM_AGENT_FILES.put(`${ctx.userId}/${filename}`, bytes);
      await ctx.messenger.sendDocument(ctx.chatId, filename, bytes);
      return `Created "${filename}" and sent it to the user.`;
    },
    hook: ({ filename, content }) => ['onArtifactCreated', filename, content],
  }),
];

function fromBase64(text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    throw toolError('content is not base64');
  }
}
