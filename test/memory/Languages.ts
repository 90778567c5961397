/** In each language three things that were noted, and a question about each of them in other words. */
export const languages: Readonly<
  Record<string, ReadonlyArray<readonly [note: string, question: string]>>
> = {
  English: [
    ["Olga prefers green tea to coffee.", "What kind of tea does Olga like?"],
    [
      "The warehouse takes deliveries on Tuesday mornings only.",
      "When may we deliver to the warehouse?"
    ],
    ["The last invoice was paid twice by mistake.", "Was an invoice paid two times?"]
  ],
  German: [
    ["Olga trinkt lieber grünen Tee als Kaffee.", "Welchen Tee trinkt Olga?"],
    ["Das Lager nimmt Lieferungen nur dienstags an.", "Wann nimmt das Lager etwas an?"],
    [
      "Die letzte Rechnung wurde irrtümlich doppelt bezahlt.",
      "Wurde eine Rechnung zweimal bezahlt?"
    ]
  ],
  French: [
    ["Olga préfère le thé vert au café.", "Quel thé Olga préfère-t-elle ?"],
    ["L'entrepôt ne reçoit les livraisons que le mardi.", "Quel jour l'entrepôt est-il ouvert ?"],
    [
      "La dernière facture a été payée deux fois par erreur.",
      "Quelle facture a ete payee en trop ?"
    ]
  ],
  Spanish: [
    ["Olga prefiere el té verde al café.", "¿Qué té prefiere Olga?"],
    ["El almacén recibe entregas solo los martes.", "¿Cuándo abre el almacen?"],
    ["La última factura se pagó dos veces por error.", "¿Hubo un error con una factura?"]
  ],
  Polish: [
    ["Olga woli zieloną herbatę od kawy.", "Jaką herbatę woli Olga?"],
    ["Magazyn przyjmuje dostawy tylko we wtorki rano.", "Kiedy magazyn przyjmuje dostawy?"],
    ["Ostatnia faktura została omyłkowo opłacona dwa razy.", "Która faktura została opłacona?"]
  ],
  Russian: [
    ["Ольга предпочитает зелёный чай, а не кофе.", "Какой чай любит Ольга?"],
    ["Склад принимает поставки только по вторникам.", "Когда принимает склад поставку?"],
    ["Последний счёт по ошибке оплатили дважды.", "Какие счета оплачены по ошибке?"]
  ],
  Greek: [
    ["Η Όλγα προτιμά το πράσινο τσάι από τον καφέ.", "Τι τσάι προτιμά η Όλγα;"],
    ["Η αποθήκη παραλαμβάνει μόνο κάθε Τρίτη.", "Πότε παραλαμβάνει η αποθηκη;"],
    ["Το τελευταίο τιμολόγιο πληρώθηκε δύο φορές.", "Ποιο τιμολόγιο πληρώθηκε λάθος;"]
  ],
  Turkish: [
    ["Olga kahve yerine yeşil çay içer.", "Olga hangi çay içer?"],
    ["Depo teslimatları yalnızca salı sabahı alır.", "Teslimatları depo ne zaman alır?"],
    ["Son fatura yanlışlıkla iki kez ödendi.", "Hangi fatura iki kez ödendi?"]
  ],
  Arabic: [
    ["تفضل أولغا الشاي الأخضر على القهوة.", "أي شاي تفضل أولغا؟"],
    ["يستقبل المستودع الشحنات يوم الثلاثاء فقط.", "متى يستقبل المستودع شحنات؟"],
    ["دُفعت الفاتورة الأخيرة مرتين بالخطأ.", "أي فاتورة خطأ؟ الفاتورة الأخيرة؟"]
  ],
  Hebrew: [
    ["אולגה מעדיפה תה ירוק על פני קפה.", "איזה תה אולגה מעדיפה?"],
    ["המחסן מקבל משלוחים רק בימי שלישי.", "מתי המחסן מקבל משלוחים?"],
    ["החשבונית האחרונה שולמה פעמיים בטעות.", "איזו חשבונית שולמה פעמיים?"]
  ],
  Hindi: [
    ["ओल्गा को कॉफ़ी से ज़्यादा हरी चाय पसंद है।", "ओल्गा को कौन सी चाय पसंद है?"],
    ["गोदाम केवल मंगलवार को माल लेता है।", "गोदाम माल कब लेता है?"],
    ["पिछला बिल गलती से दो बार चुकाया गया।", "कौन सा बिल दो बार चुकाया गया?"]
  ],
  Vietnamese: [
    ["Olga thích trà xanh hơn cà phê.", "Olga thích trà nào?"],
    ["Kho chỉ nhận hàng vào sáng thứ ba.", "Kho nhận hàng khi nào?"],
    ["Hóa đơn cuối đã được thanh toán hai lần.", "Hóa đơn nào bị thanh toán nhầm?"]
  ],
  Chinese: [
    ["奥尔加喜欢绿茶，不喜欢咖啡。", "奥尔加喝什么茶？"],
    ["仓库只在星期二上午收货。", "什么时候可以往仓库送货？"],
    ["上一张发票误付了两次。", "哪张发票付错了？"]
  ],
  Japanese: [
    ["オルガさんはコーヒーより緑茶が好きです。", "オルガさんの好きなお茶は？"],
    ["倉庫は火曜日の朝だけ荷物を受け取ります。", "荷物を倉庫へいつ送れますか。"],
    ["前回の請求書は誤って二回支払われました。", "請求書を二回払いましたか。"]
  ],
  Korean: [
    ["올가는 커피보다 녹차를 좋아합니다.", "올가가 좋아하는 차는?"],
    ["창고는 화요일 아침에만 물건을 받습니다.", "창고에 언제 보낼 수 있나요?"],
    ["지난 청구서는 실수로 두 번 결제되었습니다.", "두 번 결제한 청구서가 있나요?"]
  ],
  Thai: [
    ["โอลก้าชอบชาเขียวมากกว่ากาแฟ", "โอลก้าชอบดื่มชาอะไร"],
    ["คลังสินค้ารับของเฉพาะเช้าวันอังคาร", "ส่งของเข้าคลังสินค้าได้เมื่อไร"],
    ["ใบแจ้งหนี้ล่าสุดถูกจ่ายซ้ำสองครั้ง", "มีใบแจ้งหนี้ไหนจ่ายซ้ำบ้าง"]
  ],
  Lao: [
    ["ໂອນກ້າມັກຊາຂຽວຫຼາຍກວ່າກາເຟ", "ໂອນກ້າມັກດື່ມຊາຫຍັງ"],
    ["ສາງຮັບສິນຄ້າສະເພາະວັນອັງຄານ", "ສົ່ງສິນຄ້າໄປສາງໄດ້ມື້ໃດ"],
    ["ໃບເກັບເງິນຫຼ້າສຸດຖືກຈ່າຍສອງຄັ້ງ", "ໃບເກັບເງິນໃດຖືກຈ່າຍຜິດ"]
  ],
  Khmer: [
    ["អុលហ្កាចូលចិត្តតែបៃតងជាងកាហ្វេ", "អុលហ្កាចូលចិត្តតែអ្វី"],
    ["ឃ្លាំងទទួលទំនិញតែថ្ងៃអង្គារ", "ឃ្លាំងទទួលទំនិញថ្ងៃណា"],
    ["វិក្កយបត្រចុងក្រោយត្រូវបានបង់ពីរដង", "វិក្កយបត្រណាត្រូវបានបង់ខុស"]
  ],
  Burmese: [
    ["အိုလ်ဂါသည် ကော်ဖီထက် လက်ဖက်ရည်စိမ်းကို ကြိုက်သည်။", "အိုလ်ဂါ ဘယ်လက်ဖက်ရည် ကြိုက်သလဲ"],
    ["ဂိုဒေါင်သည် အင်္ဂါနေ့တွင်သာ ကုန်လက်ခံသည်။", "ဂိုဒေါင် ဘယ်နေ့ လက်ခံသလဲ"],
    ["နောက်ဆုံးငွေတောင်းခံလွှာကို နှစ်ကြိမ်ပေးမိသည်။", "ဘယ်ငွေတောင်းခံလွှာ နှစ်ကြိမ်ပေးမိလဲ"]
  ]
}
