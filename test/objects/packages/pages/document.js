// A text field that is a document of y-partyserver, for the test in Chromium.
import Provider from 'y-partyserver/provider';
import { Doc } from 'yjs';

const doc = new Doc();
const text = doc.getText('text');
new Provider(location.host, 'notes', doc, { party: 'document', disableBc: true });
const field = document.createElement('textarea');
field.setAttribute('aria-label', 'Document');
document.body.append(field);
text.observe(({ delta }, { local }) => {
  // The field has its own edits already: to set it again would move the caret of somebody who types.
  if (local) return;
  const [start, end] = [caretAfter(delta, field.selectionStart), caretAfter(delta, field.selectionEnd)];
  field.value = text.toString();
  field.setSelectionRange(start, end);
});
field.addEventListener('input', () => {
  const [before, now] = [text.toString(), field.value];
  let start = 0;
  while (start < Math.min(before.length, now.length) && before[start] === now[start]) start++;
  let end = 0;
  while (end < Math.min(before.length, now.length) - start && before.at(-1 - end) === now.at(-1 - end)) end++;
  doc.transact(() => {
    text.delete(start, before.length - start - end);
    text.insert(start, now.slice(start, now.length - end));
  });
});

/** Where a caret is after a change: text that is inserted or deleted in front of it moves it. */
function caretAfter(delta, caret) {
  let at = 0;
  let moved = caret;
  for (const { retain = 0, insert = '', delete: deleted = 0 } of delta) {
    if (at >= moved) break;
    at += retain;
    if (at < moved) moved += insert.length - Math.min(deleted, moved - at);
    at += insert.length;
  }
  return moved;
}
