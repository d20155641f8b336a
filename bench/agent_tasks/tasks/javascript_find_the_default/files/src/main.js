import { settings } from "./config/index.js";
import { Sender } from "./queue/sender.js";

new Sender(settings(process.env)).start();
