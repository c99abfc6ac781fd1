import { platform } from '@platform-run/vite';
import vinext from 'vinext';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [vinext(), ...platform()],
});
