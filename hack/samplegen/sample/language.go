package sample

// theme is what an item is about. Every language has captions for each.
type theme int

const (
	beach theme = iota
	coffee
	hiking
	running
	streetFood
	concert
	pets
	city
	themes
)

// language is one language's part of the sample: enough grammar to say a few hundred different things in it.
//
// {place} in a caption stands for a place's own name, {when} for one of whens. A caption is one sentence of its theme,
// often followed by one of closers; gap stands between the two.
type language struct {
	code     string
	share    int // items in a hundred
	gap      string
	places   []place
	captions [themes][]string
	whens    []string
	closers  []string
	hashtags [themes]string
}

// place is somewhere real; native is how the captions name it.
type place struct {
	native, name, country, code string
	latitude, longitude         float64
}

// hashtags and emoji that every language shares, by theme. The hashtags are those that items carry as tags.
var (
	commonHashtags = [themes][]string{
		beach:      {"beach", "sunset", "summer"},
		coffee:     {"coffee", "latteart", "morning"},
		hiking:     {"hiking", "mountains", "outdoors"},
		running:    {"running", "marathon", "training"},
		streetFood: {"streetfood", "foodie", "yummy"},
		concert:    {"livemusic", "concert", "festival"},
		pets:       {"dogsofinstagram", "cat", "pets"},
		city:       {"citylights", "travel", "architecture"},
	}
	commonEmoji = [themes][]string{
		beach:      {"🏖️", "🌅", "🌊", "☀️", "🏄🏽‍♀️"},
		coffee:     {"☕", "🥐", "❤️", "🤎"},
		hiking:     {"🥾", "⛰️", "🏔️", "🌲"},
		running:    {"🏃‍♀️", "👟", "💪🏾", "🎽"},
		streetFood: {"🍜", "🌮", "🥟", "😋", "🔥"},
		concert:    {"🎶", "🎸", "🎉", "👩‍🎤"},
		pets:       {"🐶", "🐱", "🐾", "😻"},
		city:       {"🌃", "🏙️", "✨", "🚋"},
	}
)

var languages = []language{
	{
		code: "en", share: 36, gap: " ",
		places: []place{
			{"Brighton", "Brighton", "United Kingdom", "GB", 50.82, -0.14},
			{"Santa Monica", "Santa Monica", "United States", "US", 34.02, -118.49},
			{"Bondi", "Sydney", "Australia", "AU", -33.89, 151.27},
			{"Edinburgh", "Edinburgh", "United Kingdom", "GB", 55.95, -3.19},
			{"Brooklyn", "New York", "United States", "US", 40.68, -73.94},
			{"Galway", "Galway", "Ireland", "IE", 53.27, -9.06},
		},
		captions: [themes][]string{
			beach: {
				"Walked the whole beach at {place} {when}, shoes in hand.",
				"This sunset over {place} needed no filter at all.",
				"Salt in my hair, sand in my bag, and the beach to ourselves {when}.",
				"Found the quiet end of the beach near {place} {when}.",
				"New sandals, old pier, best sunset of the year in {place}.",
			},
			coffee: {
				"The flat white at this corner café in {place} is worth the detour.",
				"First coffee of the day {when}, and the barista drew a fern.",
				"Brought my own cup to {place} and they filled it to the brim.",
				"Espresso and a cinnamon bun {when}, nothing else on the list.",
			},
			hiking: {
				"Eleven miles of hills behind {place} and not a single blister.",
				"We reached the ridge above {place} {when}, just before the clouds did.",
				"Trail notes from {place}: muddy boots, dry socks, good company.",
				"The view from the top made us forget the climb {when}.",
			},
			running: {
				"Ran ten kilometres through {place} {when}, new shoes, new record.",
				"Intervals along the river in {place}. My legs have filed a complaint.",
				"Signed up for the {place} half marathon and told everyone so I cannot back out.",
				"Easy run {when}, the shoes are finally broken in.",
			},
			streetFood: {
				"The dumpling stall at {place} market sold out {when}, we got the last six.",
				"Tacos from a van in {place} that I will dream about for weeks.",
				"Ate my way through the night market in {place} {when}.",
				"If you visit {place}, follow the queue: the noodles are at the end of it.",
			},
			concert: {
				"Front row in {place} {when}, my ears are still ringing.",
				"They played the old songs at the {place} show and everyone sang.",
				"Caught a street band in {place} {when} and stayed for the encore.",
				"The festival in {place} ended with fireworks and wet boots.",
			},
			pets: {
				"My dog met the sea in {place} {when} and barked at every wave.",
				"The café cat of {place} has chosen my lap.",
				"Adopted him {when}; he already owns the sofa.",
				"Two cats, one cardboard box, no peace.",
			},
			city: {
				"{place} after the rain, all the lights twice.",
				"Took the last tram through {place} {when} and missed our stop on purpose.",
				"Every rooftop in {place} turns gold at sunset.",
				"Lost in the lanes of {place} {when}, and glad of it.",
			},
		},
		whens:    []string{"before breakfast", "last weekend", "on Friday", "in the rain", "early this morning", "on a slow Sunday", "on our day off"},
		closers:  []string{"Would do it again tomorrow.", "10/10, no notes.", "Who is coming along next time?", "Thank you for the tip!", "I don't want to go home.", "Can't stop smiling.", "Saved for next summer.", "Ask me for directions."},
		hashtags: [themes]string{"beachlife", "coffeetime", "hikinglife", "runhappy", "streetfoodlove", "gigtonight", "rescuedog", "cityatnight"},
	},
	{
		code: "de", share: 12, gap: " ",
		places: []place{
			{"Hamburg", "Hamburg", "Germany", "DE", 53.55, 9.99},
			{"Köln", "Cologne", "Germany", "DE", 50.94, 6.96},
			{"München", "Munich", "Germany", "DE", 48.14, 11.58},
			{"Wien", "Vienna", "Austria", "AT", 48.21, 16.37},
			{"Zürich", "Zurich", "Switzerland", "CH", 47.38, 8.54},
		},
		captions: [themes][]string{
			beach: {
				"Barfuß über den Strand, {when}, und kein Mensch weit und breit.",
				"Von {place} ans Meer sind es zwei Stunden, die sich jedes Mal lohnen.",
				"Sonnenuntergang am Strand, die Füße noch im warmen Sand.",
			},
			coffee: {
				"Der Milchkaffee in diesem Café in {place} ist jeden Umweg wert.",
				"Erster Kaffee des Tages {when}, dazu ein Franzbrötchen.",
				"In {place} gibt es jetzt eine Rösterei, die man schon von der Straße her riecht.",
			},
			hiking: {
				"Achtzehn Kilometer durch die Hügel bei {place}, ohne eine einzige Blase.",
				"Oben angekommen {when}, kurz bevor der Nebel kam.",
				"Wanderschuhe eingelaufen, Brotzeit verdient.",
			},
			running: {
				"Zehn Kilometer durch {place} {when}, neue Laufschuhe, neue Bestzeit.",
				"Für den Halbmarathon in {place} angemeldet, jetzt gibt es kein Zurück.",
				"Lockerer Lauf {when}, die Beine fühlten sich endlich wieder leicht an.",
			},
			streetFood: {
				"Die Maultaschen auf dem Markt in {place} waren {when} schon ausverkauft.",
				"Wer in {place} Hunger hat, folgt einfach der längsten Schlange.",
				"Einmal quer über den Nachtmarkt gegessen {when}.",
			},
			concert: {
				"Erste Reihe in {place}, die Ohren klingeln noch immer.",
				"Sie haben die alten Lieder gespielt und ganz {place} hat mitgesungen.",
				"Straßenmusik entdeckt {when} und bis zur letzten Zugabe geblieben.",
			},
			pets: {
				"Der Hund hat {when} zum ersten Mal Schnee gesehen.",
				"Die Katze vom Café in {place} hat sich meinen Schoß ausgesucht.",
				"Zwei Katzen, ein Karton, kein Frieden.",
			},
			city: {
				"{place} nach dem Regen, alle Lichter doppelt.",
				"Mit der letzten Straßenbahn durch {place} {when}.",
				"In den Gassen von {place} verlaufen und froh darüber.",
			},
		},
		whens:    []string{"vor dem Frühstück", "am Wochenende", "am Freitag", "im Regen", "früh am Morgen", "an einem ruhigen Sonntag"},
		closers:  []string{"Jederzeit wieder!", "Wer kommt nächstes Mal mit?", "Danke für den Tipp.", "Ich will nicht nach Hause.", "Schöner wird’s heute nicht mehr.", "Gespeichert für den Sommer."},
		hashtags: [themes]string{"strandliebe", "kaffeepause", "wanderlust", "laufliebe", "streetfoodmarkt", "livekonzert", "hundeliebe", "großstadtlichter"},
	},
	{
		code: "fr", share: 9, gap: " ",
		places: []place{
			{"Marseille", "Marseille", "France", "FR", 43.3, 5.37},
			{"Lyon", "Lyon", "France", "FR", 45.76, 4.84},
			{"Bruxelles", "Brussels", "Belgium", "BE", 50.85, 4.35},
			{"Montréal", "Montreal", "Canada", "CA", 45.5, -73.57},
		},
		captions: [themes][]string{
			beach: {
				"Toute la plage pour nous {when}, les pieds dans l’eau.",
				"Le coucher de soleil sur la plage près de {place} se passe de filtre.",
				"Du sel dans les cheveux et du sable plein le sac.",
			},
			coffee: {
				"Le café crème de ce petit bistrot à {place} vaut le détour.",
				"Premier café de la journée {when}, avec un croissant encore chaud.",
				"À {place}, on torréfie maintenant au coin de ma rue.",
			},
			hiking: {
				"Dix-huit kilomètres dans les collines derrière {place}, sans une ampoule.",
				"Arrivés sur la crête {when}, juste avant les nuages.",
				"Chaussures pleines de boue, cœur léger.",
			},
			running: {
				"Dix kilomètres dans {place} {when}, nouvelles chaussures, nouveau record.",
				"Inscrit au semi-marathon de {place}, plus moyen de reculer.",
				"Petite sortie tranquille {when}, les jambes sont revenues.",
			},
			streetFood: {
				"Les crêpes du marché de {place} étaient déjà finies {when}.",
				"À {place}, suivez la file d’attente : les meilleures nouilles sont au bout.",
				"On a goûté à tout au marché de nuit {when}.",
			},
			concert: {
				"Premier rang à {place}, j’ai encore les oreilles qui sifflent.",
				"Ils ont joué les vieilles chansons et tout {place} a chanté.",
				"Une fanfare dans la rue {when}, on est restés jusqu’au bout.",
			},
			pets: {
				"Le chat du café de {place} a choisi mes genoux.",
				"Mon chien a découvert la mer {when} : il aboie après chaque vague.",
				"Deux chats, un carton, aucune paix.",
			},
			city: {
				"{place} après la pluie, toutes les lumières en double.",
				"Le dernier tram à travers {place} {when}.",
				"Perdus dans les ruelles de {place}, et très contents de l’être.",
			},
		},
		whens:    []string{"avant le petit-déjeuner", "ce week-end", "vendredi", "sous la pluie", "tôt ce matin", "un dimanche tranquille"},
		closers:  []string{"On y retourne demain !", "Qui vient la prochaine fois ?", "Merci pour le conseil.", "Je ne veux plus rentrer.", "Noté pour l’été prochain."},
		hashtags: [themes]string{"plage", "pausecafé", "randonnée", "courseàpied", "cuisinederue", "concertlive", "chatmignon", "villelumière"},
	},
	{
		code: "es", share: 9, gap: " ",
		places: []place{
			{"Valencia", "Valencia", "Spain", "ES", 39.47, -0.38},
			{"Sevilla", "Seville", "Spain", "ES", 37.39, -5.98},
			{"Ciudad de México", "Mexico City", "Mexico", "MX", 19.43, -99.13},
			{"Buenos Aires", "Buenos Aires", "Argentina", "AR", -34.6, -58.38},
		},
		captions: [themes][]string{
			beach: {
				"Toda la playa para nosotros {when}, con las sandalias en la mano.",
				"Esta puesta de sol en la playa no necesita ningún filtro.",
				"De {place} al mar, y del mar a la siesta.",
			},
			coffee: {
				"El cortado de esta cafetería de {place} merece el viaje.",
				"Primer café del día {when}, con una tostada de tomate.",
				"En {place} me conocen ya por el nombre y por el café.",
			},
			hiking: {
				"Dieciocho kilómetros por los montes cerca de {place}, sin una sola ampolla.",
				"Llegamos a la cima {when}, justo antes que las nubes.",
				"Botas llenas de barro y una sonrisa enorme.",
			},
			running: {
				"Diez kilómetros por {place} {when}: zapatillas nuevas, marca nueva.",
				"Me apunté a la media maratón de {place} y ya no hay vuelta atrás.",
				"Rodaje suave {when}, por fin sin dolor.",
			},
			streetFood: {
				"Los tacos de este puesto de {place} se acabaron {when}.",
				"Si vas a {place}, sigue la cola: al final están las mejores empanadas.",
				"Nos comimos el mercado entero {when}.",
			},
			concert: {
				"Primera fila en {place}, todavía me zumban los oídos.",
				"Tocaron las canciones de siempre y cantó toda {place}.",
				"Encontramos una banda en la calle {when} y nos quedamos hasta el final.",
			},
			pets: {
				"El gato de la cafetería de {place} eligió mis piernas.",
				"Mi perro vio el mar {when} y le ladró a cada ola.",
				"Dos gatos, una caja, ninguna paz.",
			},
			city: {
				"{place} después de la lluvia, todas las luces dos veces.",
				"El último tranvía por {place} {when}.",
				"Perdidos por las calles de {place}, y felices.",
			},
		},
		whens:    []string{"antes del desayuno", "el fin de semana", "el viernes", "bajo la lluvia", "esta mañana temprano", "un domingo tranquilo"},
		closers:  []string{"¡Mañana repetimos!", "¿Quién se apunta la próxima vez?", "Gracias por el consejo.", "No quiero volver a casa.", "Guardado para el verano."},
		hashtags: [themes]string{"playa", "cafecito", "senderismo", "correr", "comidacallejera", "músicaenvivo", "perrosfelices", "lucesdelaciudad"},
	},
	{
		code: "ja", share: 10, gap: "",
		places: []place{
			{"東京", "Tokyo", "Japan", "JP", 35.68, 139.69},
			{"京都", "Kyoto", "Japan", "JP", 35.01, 135.77},
			{"鎌倉", "Kamakura", "Japan", "JP", 35.32, 139.55},
			{"福岡", "Fukuoka", "Japan", "JP", 33.59, 130.4},
		},
		captions: [themes][]string{
			beach: {
				"{place}から海まで歩いて夕日を見ました。",
				"砂浜を裸足で散歩。サンダルは手に持ったまま。",
				"今日のビーチは貸し切りでした。波の音だけ。",
			},
			coffee: {
				"{place}のこのカフェのラテ、わざわざ行く価値があります。",
				"{when}、一杯目のコーヒー。ラテアートがかわいい。",
				"自家焙煎の香りに誘われて、{place}で寄り道。",
			},
			hiking: {
				"{place}の近くの山を十八キロ歩いたのに、靴ずれなし。",
				"{when}、雲が来る前に山頂に着きました。",
				"登山靴は泥だらけ、心は晴れ。",
			},
			running: {
				"{when}、{place}で十キロ走りました。新しいシューズで自己ベスト。",
				"{place}マラソンに申し込んでしまった。もう後戻りできない。",
				"ゆっくりジョギング。足が軽くなってきた。",
			},
			streetFood: {
				"{place}の屋台のラーメン、スープまで全部飲みました。",
				"{when}、市場で最後のたこ焼きを買えました。",
				"行列の先には、やっぱりおいしい餃子がありました。",
			},
			concert: {
				"{place}のライブ、最前列でした。まだ耳が鳴っています。",
				"昔の曲を全部やってくれて、みんなで歌いました。",
				"{when}、路上ライブに出会ってアンコールまで聴きました。",
			},
			pets: {
				"{place}のカフェの猫が、わたしの膝を選びました。",
				"うちの犬、{when}初めて海を見て、波に吠えていました。",
				"猫が二匹、箱が一つ。平和なし。",
			},
			city: {
				"雨上がりの{place}、街の灯りが二倍きれい。",
				"{when}、終電で{place}をひと回り。",
				"{place}の路地で道に迷うのも楽しい。",
			},
		},
		whens:    []string{"朝ごはんの前に", "仕事のあと", "金曜日に", "雨の中", "週末に", "のんびりした日曜日に"},
		closers:  []string{"また明日も行きたい。", "次は誰と行こうかな。", "おすすめありがとう！", "帰りたくない。", "最高の一日でした。"},
		hashtags: [themes]string{"海", "カフェ巡り", "登山", "ランニング", "屋台グルメ", "ライブ", "猫のいる暮らし", "夜景"},
	},
	{
		code: "zh", share: 7, gap: "",
		places: []place{
			{"上海", "Shanghai", "China", "CN", 31.23, 121.47},
			{"成都", "Chengdu", "China", "CN", 30.57, 104.07},
			{"台北", "Taipei", "Taiwan", "TW", 25.03, 121.57},
			{"厦门", "Xiamen", "China", "CN", 24.48, 118.09},
		},
		captions: [themes][]string{
			beach: {
				"在{place}的海边看日落，不需要滤镜。",
				"整片沙滩只有我们，鞋子提在手里。",
				"头发里是海盐，包里是沙子，心里很满足。",
			},
			coffee: {
				"{place}这家咖啡馆的拿铁值得专程来喝。",
				"{when}的第一杯咖啡，拉花是一片叶子。",
				"自己带杯子来，老板给我倒得满满的。",
			},
			hiking: {
				"{place}附近的山走了十八公里，一个水泡都没有。",
				"{when}爬到山顶，云刚好散开。",
				"登山鞋全是泥，但是风景太美了。",
			},
			running: {
				"{when}在{place}跑了十公里，新跑鞋，新纪录。",
				"报名了{place}半程马拉松，不能反悔了。",
				"慢跑五公里，腿终于轻松了。",
			},
			streetFood: {
				"{place}夜市的小笼包，{when}就卖完了。",
				"跟着最长的队伍走，尽头就是最好吃的面。",
				"从{place}夜市的这一头吃到那一头。",
			},
			concert: {
				"{place}演唱会第一排，耳朵现在还在响。",
				"他们唱了老歌，全场大合唱。",
				"{when}遇到街头乐队，一直听到安可。",
			},
			pets: {
				"{place}咖啡馆的猫选了我的腿。",
				"{when}带狗狗第一次看海，它对每个浪花都叫。",
				"两只猫，一个纸箱，没有和平。",
			},
			city: {
				"雨后的{place}，灯光都有倒影。",
				"{when}坐末班车穿过{place}。",
				"在{place}的小巷里迷路也很开心。",
			},
		},
		whens:    []string{"早饭前", "下班后", "周五", "下雨天", "星期天", "放假的时候"},
		closers:  []string{"明天还要再来！", "下次谁一起？", "谢谢推荐。", "不想回家。", "留到明年夏天。"},
		hashtags: [themes]string{"海边日落", "咖啡时间", "徒步", "跑步打卡", "夜市美食", "现场音乐", "猫咪日常", "城市夜景"},
	},
	{
		code: "th", share: 6, gap: " ",
		places: []place{
			{"กรุงเทพฯ", "Bangkok", "Thailand", "TH", 13.75, 100.5},
			{"เชียงใหม่", "Chiang Mai", "Thailand", "TH", 18.79, 98.98},
			{"ภูเก็ต", "Phuket", "Thailand", "TH", 7.88, 98.39},
		},
		captions: [themes][]string{
			beach: {
				"เดินเล่นริมทะเล พระอาทิตย์ตกสวยมาก",
				"ทั้งหาดมีแค่เราสองคน",
				"ทะเลใกล้{place}สวยจนไม่อยากกลับ",
			},
			coffee: {
				"ลาเต้ร้านนี้ที่{place}อร่อยคุ้มค่าที่มา",
				"กาแฟแก้วแรกของวัน{when}",
				"ร้านกาแฟเล็กๆ ใน{place} หอมตั้งแต่หน้าร้าน",
			},
			hiking: {
				"เดินขึ้นเขาใกล้{place}สิบแปดกิโลเมตร",
				"ถึงยอดเขา{when} ก่อนที่เมฆจะมา",
				"รองเท้าเปื้อนโคลนแต่วิวสวยมาก",
			},
			running: {
				"วิ่งสิบกิโลใน{place}{when} รองเท้าใหม่ สถิติใหม่",
				"สมัครฮาล์ฟมาราธอนที่{place}แล้ว ถอยไม่ได้แล้ว",
				"วิ่งเบาๆ วันนี้ขาสบายขึ้นเยอะ",
			},
			streetFood: {
				"ก๋วยเตี๋ยวเจ้านี้ที่{place}ต้องต่อแถวแต่คุ้มมาก",
				"ผัดไทยหน้าตลาดหมด{when}",
				"กินทั้งตลาดกลางคืน{place}ตั้งแต่ต้นจนท้ายซอย",
			},
			concert: {
				"คอนเสิร์ตที่{place} ได้อยู่แถวหน้าสุด",
				"วงเล่นเพลงเก่า ทุกคนร้องตามกันทั้งงาน",
				"เจอวงดนตรีเปิดหมวก{when} ฟังจนจบ",
			},
			pets: {
				"แมวที่ร้านกาแฟใน{place}เลือกตักของเรา",
				"หมาเห็นทะเลครั้งแรก เห่าใส่ทุกคลื่น",
				"แมวสองตัว กล่องใบเดียว ไม่มีความสงบ",
			},
			city: {
				"{place}หลังฝนตก ไฟสวยเป็นสองเท่า",
				"นั่งรถไฟฟ้าเที่ยวสุดท้ายผ่าน{place}{when}",
				"หลงทางในซอยที่{place}ก็สนุกดี",
			},
		},
		whens:    []string{"ก่อนอาหารเช้า", "หลังเลิกงาน", "วันศุกร์", "ตอนฝนตก", "ช่วงวันหยุด", "วันอาทิตย์"},
		closers:  []string{"พรุ่งนี้มาอีก!", "ครั้งหน้าใครไปด้วยบ้าง", "ขอบคุณที่แนะนำนะ", "ไม่อยากกลับบ้านเลย"},
		hashtags: [themes]string{"ทะเล", "กาแฟ", "เดินป่า", "วิ่ง", "สตรีทฟู้ด", "คอนเสิร์ต", "ทาสแมว", "เที่ยวเมือง"},
	},
	{
		code: "ar", share: 6, gap: " ",
		places: []place{
			{"القاهرة", "Cairo", "Egypt", "EG", 30.04, 31.24},
			{"دبي", "Dubai", "United Arab Emirates", "AE", 25.2, 55.27},
			{"بيروت", "Beirut", "Lebanon", "LB", 33.89, 35.5},
			{"مراكش", "Marrakesh", "Morocco", "MA", 31.63, -8},
		},
		captions: [themes][]string{
			beach: {
				"غروب الشمس على الشاطئ لا يحتاج إلى أي فلتر.",
				"الشاطئ كله لنا اليوم، والصندل في اليد.",
				"من {place} إلى البحر {when}.",
			},
			coffee: {
				"القهوة في هذا المقهى في {place} تستحق المشوار.",
				"أول فنجان قهوة {when} مع كعكة ساخنة.",
				"رائحة البن في شوارع {place} لا تقاوم.",
			},
			hiking: {
				"مشينا ثمانية عشر كيلومترا في الجبال قرب {place}.",
				"وصلنا إلى القمة {when} قبل الغيوم بقليل.",
				"حذاء مليء بالطين وقلب سعيد.",
			},
			running: {
				"ركضت عشرة كيلومترات في {place} {when}، حذاء جديد ورقم جديد.",
				"سجلت في نصف ماراثون {place} ولا مجال للتراجع.",
				"جري خفيف {when} والساقان بخير أخيرا.",
			},
			streetFood: {
				"أطيب شاورما في {place} عند نهاية أطول طابور.",
				"نفدت الفلافل من السوق {when}.",
				"أكلنا من كل عربة في سوق {place} الليلي.",
			},
			concert: {
				"الصف الأول في حفلة {place}، وما زالت الأغاني في أذني.",
				"غنوا الأغاني القديمة وغنت {place} كلها معهم.",
				"صادفنا فرقة في الشارع {when} وبقينا حتى النهاية.",
			},
			pets: {
				"قطة المقهى في {place} اختارت حضني.",
				"رأى كلبي البحر {when} ونبح على كل موجة.",
				"قطتان وصندوق واحد ولا سلام.",
			},
			city: {
				"{place} بعد المطر، كل ضوء مرتين.",
				"ضعنا في أزقة {place} {when} وكنا سعداء.",
				"أسطح {place} تصبح ذهبية عند الغروب.",
			},
		},
		whens:    []string{"قبل الفطور", "بعد العمل", "صباح اليوم", "تحت المطر", "في العطلة", "يوم الجمعة"},
		closers:  []string{"سنعود غدا!", "من يأتي معنا في المرة القادمة؟", "شكرا على النصيحة.", "لا أريد العودة إلى البيت."},
		hashtags: [themes]string{"بحر", "قهوة", "جبال", "جري", "أكل_الشارع", "حفلة", "قطط", "أضواء_المدينة"},
	},
	{
		code: "ko", share: 5, gap: " ",
		places: []place{
			{"서울", "Seoul", "South Korea", "KR", 37.57, 126.98},
			{"부산", "Busan", "South Korea", "KR", 35.18, 129.08},
			{"제주", "Jeju", "South Korea", "KR", 33.5, 126.53},
		},
		captions: [themes][]string{
			beach: {
				"{when} 바닷가에서 본 노을, 필터가 필요 없어요.",
				"{place} 해변을 맨발로 끝까지 걸었어요.",
				"오늘 바다는 우리 둘만의 것.",
			},
			coffee: {
				"{place} 이 카페의 라테는 일부러 찾아갈 만해요.",
				"{when} 마신 첫 커피, 라테 아트까지 완벽했어요.",
				"골목 끝 로스터리에서 나는 향기에 발길을 멈췄어요.",
			},
			hiking: {
				"{place} 근처 산길 열여덟 킬로미터, 물집 하나 없이 완주!",
				"{when} 구름보다 먼저 정상에 도착했어요.",
				"등산화는 진흙투성이, 마음은 맑음.",
			},
			running: {
				"{when} {place}에서 십 킬로미터를 달렸어요. 새 운동화, 새 기록.",
				"{place} 하프 마라톤 신청 완료. 이제 물러설 수 없어요.",
				"가볍게 달린 하루, 다리가 드디어 편해졌어요.",
			},
			streetFood: {
				"{place} 시장 떡볶이는 줄을 서도 아깝지 않아요.",
				"{when} 갔더니 만두가 벌써 다 팔렸어요.",
				"야시장을 처음부터 끝까지 먹어 봤어요.",
			},
			concert: {
				"{place} 공연 맨 앞줄! 아직도 귀가 울려요.",
				"옛날 노래를 불러 줘서 모두 따라 불렀어요.",
				"{when} 거리 공연을 만나 앙코르까지 들었어요.",
			},
			pets: {
				"{place} 카페 고양이가 제 무릎을 골랐어요.",
				"우리 강아지가 처음 바다를 보고 파도마다 짖었어요.",
				"고양이 두 마리, 상자 하나, 평화는 없음.",
			},
			city: {
				"비 온 뒤의 {place}, 불빛이 두 배로 예뻐요.",
				"{when} 막차를 타고 {place}을 한 바퀴.",
				"{place} 골목에서 길을 잃어도 즐거워요.",
			},
		},
		whens:    []string{"아침 먹기 전에", "퇴근 후에", "금요일에", "비 오는 날", "주말에", "느긋한 일요일에"},
		closers:  []string{"내일 또 갈래요!", "다음엔 누구랑 갈까요?", "추천 고마워요.", "집에 가기 싫다."},
		hashtags: [themes]string{"바다", "카페투어", "등산", "러닝", "길거리음식", "공연", "고양이", "야경"},
	},
}
